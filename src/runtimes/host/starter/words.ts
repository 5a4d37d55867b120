/** What is said to a launcher that is a process of ours; `launcher.h` tells what it means. Pure. */
import type { MadeNamespaces } from '../launch.ts';
import { type LaunchStep, type Orders, type RlimitName, refuseNul } from '../launcher.ts';

/** A limit's name there, and the bytes or whatever it is that one of ours stands for. */
const LIMITS: Readonly<Record<RlimitName, { readonly name: string; readonly unit: number }>> = {
  coreBlocks: { name: 'core', unit: 1024 },
  dataKb: { name: 'data', unit: 1024 },
  fileSizeKb: { name: 'fsize', unit: 1024 },
  openFiles: { name: 'nofile', unit: 1 },
  cpuSec: { name: 'cpu', unit: 1 },
};

/** These mount options are set there in any case. */
const ALWAYS_SET = ['nosuid', 'nodev'];

const HEADER_NUMBERS = 4;

/** What it does before it waits; undefined when one of that is nothing that it can do. */
export function beginningWords(makes: MadeNamespaces, steps: readonly LaunchStep[]): string[] | undefined {
  const words = steps.map(stepWords);
  if (!words.every((step) => step !== undefined)) return undefined;
  const kind = makes === 'mounts' ? 'mount' : 'user';
  return [...(makes === 'nothing' ? [] : ['namespaces', kind]), ...words.flat()];
}

/** All that it waits for. Throws `INPUT_INVALID` for a NUL. */
export function orderBytes(
  { steps, user, program, environment }: Orders,
  otherwise: Readonly<Record<string, string>>,
): Buffer {
  const lists = [
    [
      ...steps.flatMap((step) => stepWords(step) ?? []),
      ...(environment === undefined ? [] : ['status']),
      ...(user === undefined ? [] : ['user', String(user.uid), String(user.gid)]),
    ],
    program,
    Object.entries(environment ?? otherwise).map(([name, value]) => `${name}=${value}`),
  ];
  lists.forEach(refuseNul);
  const text = lists
    .flat()
    .map((word) => `${word}\0`)
    .join('');
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(4 * HEADER_NUMBERS + length);
  [length, ...lists.map((list) => list.length)].forEach((number, index) => {
    bytes.writeUInt32LE(number, 4 * index);
  });
  bytes.write(text, 4 * HEADER_NUMBERS);
  return bytes;
}

/** Undefined for one that only bash does. */
function stepWords(step: LaunchStep): string[] | undefined {
  if ('joinCgroup' in step) return ['cgroup', step.joinCgroup];
  if ('limit' in step) {
    const { name, unit } = LIMITS[step.limit];
    return ['limit', name, String(unit * step.value)];
  }
  // It has a pipe there already.
  if ('pipeInputFor' in step)
    return step.pipeInputFor === '' ? [] : ['owner', ...step.pipeInputFor.split(':')];
  if ('pipeInput' in step) return ['pipe'];
  if ('mountMemory' in step) {
    const options = step.options.split(',').filter((option) => !ALWAYS_SET.includes(option));
    return ['memory', options.join(','), step.mountMemory];
  }
  if ('bind' in step) return ['bind', step.bind, step.at];
  if ('openFile' in step) return ['open', String(step.as), step.openFile];
  return undefined;
}
