package rule

import (
	"go/doc/comment"
	"strings"
)

const printedLead = "idemlint prints:"

// Markdown returns the page as a Markdown file.
func (p *Page) Markdown() string {
	var b strings.Builder
	block := func(s string) { b.WriteString(strings.TrimRight(s, "\n") + "\n\n") }
	block("# " + p.heading())
	block("`idemlint explain " + p.Analyzer + "` shows this page.")
	for _, s := range p.sections() {
		if s.title != "" {
			block("## " + s.title)
		}
		for _, t := range s.text {
			block(t)
		}
		if len(s.list) > 0 {
			block("- " + strings.Join(s.list, "\n- "))
		}
		if s.code != "" {
			block("```" + s.lang + "\n" + s.code + "```")
		}
		if s.printed != "" {
			block(printedLead)
			block("```\n" + s.printed + "```")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Text returns the page for a terminal, in lines of 80 columns but for code and messages.
func (p *Page) Text() string {
	var doc comment.Doc
	add := func(b ...comment.Block) { doc.Content = append(doc.Content, b...) }
	add(&comment.Heading{Text: plain(p.heading())})
	for _, s := range p.sections() {
		if s.title != "" {
			add(&comment.Heading{Text: plain(s.title)})
		}
		for _, t := range s.text {
			add(&comment.Paragraph{Text: plain(t)})
		}
		if len(s.list) > 0 {
			list := &comment.List{ForceBlankBefore: true}
			for _, item := range s.list {
				list.Items = append(list.Items, &comment.ListItem{Content: []comment.Block{&comment.Paragraph{Text: plain(item)}}})
			}
			add(list)
		}
		if s.code != "" {
			add(&comment.Code{Text: s.code})
		}
		if s.printed != "" {
			add(&comment.Paragraph{Text: plain(printedLead)}, &comment.Code{Text: s.printed})
		}
	}
	add(&comment.Paragraph{Text: plain(URL(p.Analyzer))})
	printer := comment.Printer{TextCodePrefix: "    "}
	return string(printer.Text(&doc))
}

func plain(s string) []comment.Text { return []comment.Text{comment.Plain(s)} }
