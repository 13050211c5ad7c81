//go:build !unix

package testpg

import (
	"errors"
	"os"
	"os/exec"
)

type credential struct{}

func serverUser() (*credential, error) {
	return nil, errors.New("this system cannot run a throw-away cluster: set DATABASE_URL")
}

func temporaryRoot(*credential) string { return os.TempDir() }
func (c *credential) own(string) error { return nil }
func (c *credential) run(*exec.Cmd)    {}

type keeper struct{}

func startKeeper(string) (*keeper, error) { return &keeper{}, nil }
func (k *keeper) release()                {}
