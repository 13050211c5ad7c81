package testpg

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// oldest is the first major version the runtime supports.
const oldest = 13

// findBinaries answers the directory of initdb, pg_ctl and postgres: the one PG_BIN names, one below dir with the
// major version that PG_EMBEDDED asks to download, the one of the newest supported installation, or one below dir
// with downloaded binaries.
func findBinaries(dir string) (string, error) {
	if named := os.Getenv("PG_BIN"); named != "" {
		if !usable(named) {
			return "", fmt.Errorf("PG_BIN=%s has no initdb, pg_ctl and postgres", named)
		}
		return named, nil
	}
	if major := os.Getenv("PG_EMBEDDED"); major != "" {
		version, known := embedded(major)
		if !known {
			return "", fmt.Errorf("PG_EMBEDDED=%s is no supported major version", major)
		}
		return downloadBinaries(dir, version)
	}
	for _, installed := range installations() {
		if usable(installed) {
			return installed, nil
		}
	}
	return downloadBinaries(dir, embeddedpostgres.V17)
}

// embedded answers the build that embedded-postgres has of a supported major version.
func embedded(major string) (embeddedpostgres.PostgresVersion, bool) {
	for _, version := range []embeddedpostgres.PostgresVersion{
		"13.22.0", // the library's own constant names a build that is not everywhere
		embeddedpostgres.V14, embeddedpostgres.V15,
		embeddedpostgres.V16, embeddedpostgres.V17, embeddedpostgres.V18,
	} {
		if strings.HasPrefix(string(version), major+".") {
			return version, true
		}
	}
	return "", false
}

// installations lists where PostgreSQL may be: the path first, then the places of Debian, Red Hat and Homebrew,
// which keep the server's programs off the path, newest first.
func installations() []string {
	var found []string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			found = append(found, filepath.Dir(real))
		}
	}
	type installation struct {
		major int
		bin   string
	}
	var versioned []installation
	for _, pattern := range []struct{ glob, version string }{
		{"/usr/lib/postgresql/*/bin", "/usr/lib/postgresql/%d/bin"},
		{"/usr/pgsql-*/bin", "/usr/pgsql-%d/bin"},
		{"/opt/homebrew/opt/postgresql@*/bin", "/opt/homebrew/opt/postgresql@%d/bin"},
		{"/usr/local/opt/postgresql@*/bin", "/usr/local/opt/postgresql@%d/bin"},
	} {
		matches, err := filepath.Glob(pattern.glob)
		if err != nil {
			continue // the patterns are constants and well formed
		}
		for _, bin := range matches {
			var major int
			if _, err := fmt.Sscanf(bin, pattern.version, &major); err == nil && major >= oldest {
				versioned = append(versioned, installation{major, bin})
			}
		}
	}
	slices.SortFunc(versioned, func(a, b installation) int { return b.major - a.major })
	for _, v := range versioned {
		found = append(found, v.bin)
	}
	return found
}

func usable(bin string) bool {
	for _, program := range []string{"initdb", "pg_ctl", "postgres"} {
		info, err := os.Stat(filepath.Join(bin, program))
		if err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return false
		}
	}
	return true
}

// downloadBinaries lets embedded-postgres fetch its build into dir. The library starts a server of its own on the
// way, which root may not run: what counts is whether the programs are there afterwards.
func downloadBinaries(dir string, version embeddedpostgres.PostgresVersion) (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	home := filepath.Join(dir, "postgres")
	fetched := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(version).
		Port(uint32(port)).
		RuntimePath(filepath.Join(dir, "fetch")).
		BinariesPath(home).
		Logger(io.Discard))
	startErr := fetched.Start()
	if startErr == nil {
		if err := fetched.Stop(); err != nil && !errors.Is(err, embeddedpostgres.ErrServerNotStarted) {
			return "", fmt.Errorf("stop the downloaded server: %w", err)
		}
	}
	bin := filepath.Join(home, "bin")
	if !usable(bin) {
		return "", fmt.Errorf(
			"no PostgreSQL %s or newer installed, DATABASE_URL and PG_BIN unset, and the download failed: %w",
			strconv.Itoa(oldest), startErr)
	}
	return bin, nil
}
