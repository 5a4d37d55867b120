import { closeSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { Folder } from '../host/folder.ts';
import { closePipe, openPipe, type Pipe } from '../host/pipe.ts';
import { PipeSource } from '../host/pipeSource.ts';
import { makeFifos } from '../host/pipes.ts';
import type { RelayStreams } from '../runtime.ts';
import type { RelayPipeNames } from './bundle.ts';

/** The way to one relay: two named pipes of the host, which only the first process inside may open. */
export interface RelayPipes {
  readonly streams: RelayStreams;
  /** To be called once the relay has opened them: from then on its end is seen. */
  letGo(): void;
  /** Ends the way, and removes the names. */
  remove(): void;
}

/** Makes them in `folder`, which is held by a path that leads through a descriptor of ours. */
export async function createRelayPipes(folder: string, names: RelayPipeNames): Promise<RelayPipes> {
  using inside = Folder.open(folder);
  const all = [names.input, names.output];
  const removeNames = (): void => {
    for (const name of all) rmSync(`${folder}/${name}`, { force: true });
  };
  let input: Pipe | undefined;
  try {
    await makeFifos(
      inside,
      all.map((name) => `/proc/self/fd/3/${name}`),
    );
    input = openPipe(inside.entry(names.input));
    return holdPipes(input, openPipe(inside.entry(names.output)), removeNames);
  } catch (error) {
    if (input) closePipe(input);
    removeNames();
    throw error;
  }
}

function holdPipes(input: Pipe, output: Pipe, removeNames: () => void): RelayPipes {
  const streams = {
    input: new Socket({ fd: input.write, readable: false, writable: true }),
    output: new PipeSource(output.read),
  };
  // EPIPE: the relay is gone, which whoever reads from it is told.
  streams.input.on('error', () => {});
  // Without them the first of us to open a pipe would see no other end.
  let spare = [input.read, output.write];
  const letGo = (): void => {
    for (const descriptor of spare) closeSync(descriptor);
    spare = [];
  };
  return {
    streams,
    letGo,
    remove() {
      letGo();
      streams.input.destroy();
      streams.output.destroy();
      removeNames();
    },
  };
}
