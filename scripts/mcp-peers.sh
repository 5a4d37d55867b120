#!/bin/sh
# Tries `glovebox mcp` with the official inspector and the official conformance suite of the Model Context Protocol.
# They need a newer Node.js than Glovebox does; all of it goes into a temporary folder, which is removed again.
set -eu
cd "$(dirname "$0")/.."

folder=$(mktemp -d "${TMPDIR:-/tmp}/gbx-mcp-peers.XXXXXX")
trap 'rm -r -- "$folder"' EXIT
trap 'exit 130' INT TERM

# Of these only Node.js runs a script: it puts the binary in its place.
npm install --prefix "$folder" --no-audit --no-fund \
  node@24 @modelcontextprotocol/conformance@0.1.16 @modelcontextprotocol/inspector@2.12.0
"$folder/node_modules/node/bin/node" --version

MCP_PEERS="$folder" REQUIRED_RUNTIMES="mcp-peers,${REQUIRED_RUNTIMES:-}" \
  npx vitest run --project real tests/mcp/peers.test.ts "$@"
