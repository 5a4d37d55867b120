import { readFileSync } from 'node:fs';
import { release, type } from 'node:os';
import type { Root } from '../runtime.ts';

let known: Root | undefined;

/** This host's own system, as os-release(5) names it. */
export function rootOfHost(): Root {
  known ??= { kind: 'host', name: prettyName() ?? `${type()} ${release()}` };
  return known;
}

function prettyName(): string | undefined {
  try {
    const [, name] = /^PRETTY_NAME=(?:"([^"\n]*)"|.*)$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? [];
    return name || undefined;
  } catch {
    return undefined;
  }
}
