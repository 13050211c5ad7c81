package know

import "strings"

// Ends reports whether a call of the function does not come back: it ends the program or the goroutine. A fatal log
// entry of zerolog ends it when it is sent, which is the next thing done with it.
func Ends(pkg, name string) bool {
	switch pkg {
	case "os":
		return name == "Exit"
	case "runtime":
		return name == "Goexit"
	case "log", "go.uber.org/zap", "github.com/sirupsen/logrus", "github.com/rs/zerolog", "github.com/rs/zerolog/log", "k8s.io/klog", "github.com/golang/glog":
		return strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic") || name == "Exit"
	}
	return false
}
