//go:build unix

package testpg

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// credential is the user a server runs as; nil is the user of this process. PostgreSQL refuses to run as root.
type credential struct{ uid, gid uint32 }

func serverUser() (*credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user id of %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("group id of %s: %w", name, err)
		}
		return &credential{uint32(uid), uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
}

// temporaryRoot is where the cluster's directory goes. Root's own TMPDIR may be closed to the server's user.
func temporaryRoot(user *credential) string {
	if user != nil {
		return "/tmp"
	}
	return os.TempDir()
}

func (c *credential) own(path string) error {
	if c == nil {
		return nil
	}
	err := filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, int(c.uid), int(c.gid))
	})
	if err != nil {
		return fmt.Errorf("give %s to the server's user: %w", path, err)
	}
	return nil
}

func (c *credential) run(cmd *exec.Cmd) {
	if c == nil {
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.gid}}
}

// keeper is a small process that outlives this one only to stop the server and remove its directory. It learns
// that this process ended, by whatever way, from the end of its standard input.
type keeper struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

const keeperScript = `
trap '' INT TERM HUP
while read -r _; do :; done
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
n=0
while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.1; done
rm -rf "$1"
`

func startKeeper(dir string) (*keeper, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the keeper's pipe: %w", err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", keeperScript, "testpg-keeper", dir)
	cmd.Stdin = r
	cmd.Dir = "/"
	// The interrupt that ends a test run from the terminal must not end the keeper.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the keeper: %w", err), w.Close())
	}
	return &keeper{cmd: cmd, stdin: w}, nil
}

// release lets the keeper do its work now and waits for it.
func (k *keeper) release() {
	_ = k.stdin.Close()
	_ = k.cmd.Wait()
}
