import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { SandboxError } from '../../errors.ts';
import type { ContextFile } from './build.ts';

/** The numbers of processors in ELF headers (`e_machine`), by the names that engines and npm have for them. */
const MACHINES: Readonly<Record<string, { readonly number: number; readonly npm: string }>> = {
  amd64: { number: 62, npm: 'x64' },
  arm64: { number: 183, npm: 'arm64' },
};

/** The bytes of an ELF header up to the processor's number. */
const HEADER_BYTES = 20;

/**
 * A Node.js for the image, as a file of the build's context. Throws `INPUT_INVALID` for a file that is no Linux
 * program for the engine's processor; whether it runs on the base, and is new enough, the build finds out.
 */
export async function nodeForImage(path: string, architecture: string): Promise<ContextFile> {
  let size: number;
  const header = Buffer.alloc(HEADER_BYTES);
  try {
    const file = await open(path);
    try {
      size = (await file.stat()).size;
      await file.read(header, 0, HEADER_BYTES, 0);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new SandboxError(
      'INPUT_INVALID',
      `${path} cannot be put into the image: ${(error as Error).message}`,
      { hint: howToGet(architecture), details: { path }, cause: error },
    );
  }
  if (!isProgramFor(header, architecture)) {
    throw new SandboxError('INPUT_INVALID', `${path} is no Linux program for ${architecture}.`, {
      hint: howToGet(architecture),
      details: { path, architecture },
    });
  }
  return { name: 'node', mode: 0o755, size, content: bytesOf(path) };
}

/** Opened when it is read and not before. */
async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path);
}

/** True for the first bytes of an ELF program of this processor, or of any where we do not know its number. Pure. */
export function isProgramFor(header: Buffer, architecture: string): boolean {
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, 4) !== '\x7fELF') return false;
  const isLittleEndian = header[5] === 1;
  const machine = isLittleEndian ? header.readUInt16LE(18) : header.readUInt16BE(18);
  return machine === (MACHINES[architecture]?.number ?? machine);
}

/** The command that gets one from npm, on whatever system. Pure. */
function howToGet(architecture: string): string {
  const cpu = MACHINES[architecture]?.npm ?? architecture;
  const name = `node-linux-${cpu}`;
  return `Get one: npm install --prefix linux-node --os=linux --cpu=${cpu} --force ${name}@20; then: glovebox images build --node linux-node/node_modules/${name}/bin/node`;
}
