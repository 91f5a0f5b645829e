#!/usr/bin/env bash
# Builds the programs of a Kubernetes control plane and of Prometheus from Go modules:
#
#   build.sh OUT_DIR   writes kubebox and prombox, and a link for each program in them
#   build.sh --pin     writes kubebox/go.{mod,sum} and prombox/go.{mod,sum} anew, from the versions below
#
# kubebox is etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and helm in one file, prombox is
# prometheus and promtool. Needs Go 1.26, about 9 GB of disk and 3 GB of memory; takes about 11 minutes on two processors.
# Equal sources and an equal Go give equal bytes.
set -euo pipefail
K8S=1.36.3 ETCD=3.6.16 HELM=4.2.4 PROMETHEUS=0.316.0
source=$(dirname "$(realpath "$0")")
export CGO_ENABLED=0 GOTOOLCHAIN=local

# Prints the folder or the file of a module: module_path PATH@VERSION Dir|GoMod
module_path() { go mod download -json "$1" | sed -n "s/.*\"$2\": \"\(.*\)\",/\1/p"; }

# The programs of Prometheus are packages called main, which Go does not import: they are copied under other names.
copy_programs() {
  local dir name file
  dir=$(module_path "github.com/prometheus/prometheus@v$PROMETHEUS" Dir)
  for name in prometheus promtool; do
    mkdir -p "$name"
    for file in "$dir/cmd/$name"/*.go; do
      [[ $file == *_test.go ]] && continue
      sed -E "s/^package main$/package $name/; s/^func main\(\) /func Main() /" "$file" >"$name/$(basename "$file")"
    done
  done
}

pin() {
  local mod
  # The published go.mod of k8s.io/kubernetes requires its staging modules at v0.0.0, which does not exist. Each is
  # replaced by the version that was published with it.
  mod=$(cd / && module_path "k8s.io/kubernetes@v$K8S" GoMod)
  printf 'module kubebox\n\ngo 1.26.0\n\ngodebug default=go1.26\n' >"$source/kubebox/go.mod"
  (
    cd "$source/kubebox"
    awk -v v="v0${K8S#1}" '$2 == "v0.0.0" && $1 ~ /^k8s\.io\// {print "-replace=" $1 "=" $1 "@" v}' "$mod" |
      xargs go mod edit -require="k8s.io/kubernetes@v$K8S" -require="go.etcd.io/etcd/server/v3@v$ETCD" \
        -require="helm.sh/helm/v4@v$HELM"
    rm -f go.sum
    go mod tidy
  )
  printf 'module prombox\n\ngo 1.26.7\n' >"$source/prombox/go.mod"
  work=$(mktemp -d)
  cp "$source/prombox"/{go.mod,main.go} "$work"
  (
    cd "$work"
    go mod edit -require="github.com/prometheus/prometheus@v$PROMETHEUS"
    copy_programs
    go mod tidy
    cp go.mod go.sum "$source/prombox/"
  )
  rm -rf "$work"
}

build() { # NAME LDFLAGS TAGS PROGRAM...
  local name=$1 flags=$2 tags=$3 program
  shift 3
  echo "building $name ..." >&2
  work=$(mktemp -d)
  cp "$source/$name"/* "$work"
  (
    cd "$work"
    [ "$name" != prombox ] || copy_programs
    nice -n 10 go build -mod=readonly -trimpath -buildvcs=false -tags "$tags" -ldflags "-s -w $flags" -o "$out/$name" .
  )
  rm -rf "$work"
  for program in "$@"; do ln -sf "$name" "$out/$program"; done
}

[ $# = 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
if [ "$1" = --pin ]; then pin; exit; fi
mkdir -p "$1"
out=$(realpath "$1")
version=
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do # kubectl parses what the server says.
  version+=" -X $package.gitVersion=v$K8S -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<$K8S)"
  version+=" -X $package.gitTreeState=clean -X $package.gitCommit=go-modules -X $package.buildDate=2026-01-01T00:00:00Z"
done
build kubebox "$version -X helm.sh/helm/v4/internal/version.version=v$HELM" '' \
  etcd kube-apiserver kube-controller-manager kube-scheduler kubectl helm
# The module of Prometheus 3.16.0 is 0.316.0.
release=3.$(($(cut -d. -f2 <<<$PROMETHEUS) - 300)).$(cut -d. -f3 <<<$PROMETHEUS)
build prombox "-X github.com/prometheus/common/version.Version=$release" remove_all_sd,enable_kubernetes_sd \
  prometheus promtool
