import { closeSync, constants, fstatSync, readFileSync, readlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { bashCommand, sendToBash } from '../bashLauncher.ts';
import type { LauncherSpec, StartedLauncher } from '../launch.ts';
import { type Channels, closeChannels } from '../pipes.ts';
import { starterNow } from './current.ts';
import type { Source } from './protocol.ts';
import { beginningWords, orderBytes } from './words.ts';

/** Undefined where there is no starter, and for what it cannot do; then nothing of the output was given up. */
export function startByStarter(spec: LauncherSpec): StartedLauncher | undefined {
  const channels = spec.output.takeChannels();
  if (channels === undefined) return undefined;
  const started = startWith(channels, spec);
  if (started === undefined) closeChannels(channels);
  return started;
}

function startWith(channels: Channels, spec: LauncherSpec): StartedLauncher | undefined {
  const { cwd, environment, makes, output, descriptors = [] } = spec;
  const { stdin, status, orders } = channels;
  const reading = (descriptor: number): Source => ({ descriptor, flags: constants.O_RDONLY });
  const writing = (descriptor: number): Source => ({ descriptor, flags: constants.O_WRONLY });
  const input = stdin
    ? reading(stdin.read)
    : sourceOf(typeof spec.stdin === 'number' ? spec.stdin : 'ignore');
  if (spec.stdin === 'stream' && stdin === undefined) return undefined;
  const others = descriptors.map(sourceOf);
  if (input === undefined || !others.every((source) => source !== undefined)) return undefined;
  const sources: Source[] = [
    input,
    ...[writing(output.child.stdout), writing(output.child.stderr)],
    ...[writing(status.write), reading(orders.read)],
    ...others,
  ];
  const steps = makes && beginningWords(makes, spec.steps);
  const begins = steps
    ? { argv: steps, waits: true, environment: {} }
    : { argv: bashCommand(spec), environment };
  const child = starterNow()?.start({ ...begins, cwd, sources }, stdin?.write);
  if (child === undefined) return undefined;
  let isOpen = true;
  const closeTheirs = (): void => {
    if (!isOpen) return;
    isOpen = false;
    output.closeChildEnds();
    for (const end of [status.write, orders.read, ...(stdin ? [stdin.read] : [])]) closeSync(end);
  };
  // The starter has opened them by then, or will not.
  child.once('spawn', closeTheirs);
  child.once('error', closeTheirs);
  return {
    child,
    status: new Socket({ fd: status.read, readable: true, writable: false }),
    orders: new Socket({ fd: orders.write, readable: false, writable: true }),
    send: steps ? (given) => orderBytes(given, environment) : sendToBash,
  };
}

/** How the starter can open the same again; undefined for what it cannot, as a socket, or not as the same. */
function sourceOf(descriptor: number | 'ignore'): Source | undefined {
  if (descriptor === 'ignore') return 'ignore';
  const kind = fstatSync(descriptor);
  const isPipe = kind.isFIFO();
  const isNamespace = kind.isFile() && /^[a-z_]+:\[\d+\]$/.test(readlinkSync(`/proc/self/fd/${descriptor}`));
  if (!isPipe && !isNamespace && !kind.isDirectory()) return undefined;
  const [, flags = '0'] =
    /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
  return { descriptor, flags: Number.parseInt(flags, 8) & KEPT_FLAGS };
}

const KEPT_FLAGS =
  constants.O_RDONLY | constants.O_WRONLY | constants.O_RDWR | constants.O_NONBLOCK | constants.O_DIRECTORY;
