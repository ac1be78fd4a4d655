// The programs of the test cluster in one executable: kube-apiserver, kube-controller-manager,
// kubectl, etcd and kwok. The name under which it is started, or else its first argument, selects
// one of them:
//
//	kube-apiserver --version        through a link of that name
//	programs kube-apiserver --version
//
// The programs share most of their packages. One executable is linked once and holds those once.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // for CronJobs with a time zone

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // for kubectl's kubeconfig
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the clients and their queues
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

var programs = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllers.NewControllerManagerCommand()) },
	"kubectl":                 runKubectl,
	"kwok":                    runKwok,
}

func main() {
	run, ok := programs[filepath.Base(os.Args[0])]
	if !ok && len(os.Args) > 1 {
		// Cobra reads os.Args itself, so the executable's own name goes.
		os.Args = os.Args[1:]
		run, ok = programs[os.Args[0]]
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "name one of: etcd, kube-apiserver, kube-controller-manager, kubectl, kwok")
		os.Exit(2)
	}
	os.Exit(run())
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runKubectl() int {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
	return 0
}

// As in kwok's own main (Apache-2.0), --config is read before the command exists, since the file holds
// the command's defaults.
func runKwok() int {
	// Cobra adds these flags to every command; kube-apiserver's --version is not kwok's.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, logger := kwoklog.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		logger.Error("Init config flags", "err", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("Execute exit", "err", err)
		return 1
	}
	return 0
}
