import { createHash } from 'node:crypto';
import type { Digest } from '../../audit/digest.ts';
import type { OnOutput } from '../../result/output.ts';

/** Hashes all that a program writes, what a result leaves out as well. */
export class OutputDigests {
  readonly #streams = { stdout: new Running(), stderr: new Running() };

  /** To be told of the output; hands it on. */
  listener(next: OnOutput | undefined): OnOutput {
    return (chunk) => {
      this.#streams[chunk.stream].push(chunk.bytes);
      return next?.(chunk);
    };
  }

  toJson(): { readonly stdout: Digest; readonly stderr: Digest } {
    return { stdout: this.#streams.stdout.digest(), stderr: this.#streams.stderr.digest() };
  }
}

class Running {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  push(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
  }

  digest(): Digest {
    return { bytes: this.#bytes, sha256: this.#hash.copy().digest('hex') };
  }
}
