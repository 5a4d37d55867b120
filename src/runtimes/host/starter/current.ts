import { Starter } from './starter.ts';

/** The one of this process, or of this thread of it; undefined in the promise where there can be none. */
interface Current {
  /** Who we were when it started, which is who its programs are. */
  readonly identity: string;
  readonly opening: Promise<Starter | undefined>;
  starter?: Starter | undefined;
}

let current: Current | undefined;

/** The starter, which is started for the first that asks; undefined where there can be none. */
export async function useStarter(): Promise<Starter | undefined> {
  const identity = whoWeAre();
  const isGone = current?.starter?.isOpen === false;
  if (current === undefined || isGone || current.identity !== identity) {
    // Programs of a user that we no longer are go on until they end.
    current?.opening.then((starter) => starter?.retire());
    const opened: Current = { identity, opening: Starter.open() };
    current = opened;
    opened.starter = await opened.opening;
  }
  return current.opening;
}

/** The same when it is there already. */
export function starterNow(): Starter | undefined {
  const starter = current?.identity === whoWeAre() ? current.starter : undefined;
  return starter?.isOpen ? starter : undefined;
}

/** A process may become another user, but the starter stays who it is. */
function whoWeAre(): string {
  const { getuid, geteuid, getgid, getegid, getgroups } = process;
  return [getuid, geteuid, getgid, getegid, getgroups].map((ask) => String(ask?.())).join(' ');
}
