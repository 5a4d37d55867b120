import { SandboxError } from '../errors.ts';

/** Whom to ask, and what to show there. */
export interface Server {
  /** Ends with a slash; whatever is asked for is below it. */
  readonly base: URL;
  readonly apiKey: string;
}

/**
 * Checks an address and a key before anything is sent there. Throws `INPUT_INVALID`; no message holds the key, nor an
 * address that may hold one.
 */
export function serverOf(url: string | URL, apiKey: unknown, allowInsecure: boolean): Server {
  const base = parsed(url);
  if (base.protocol !== 'https:' && base.protocol !== 'http:') {
    throw unusable(`begins with ${base.protocol}//`, 'Give the address of `glovebox serve`: https://…');
  }
  if (base.username !== '' || base.password !== '') {
    throw unusable(
      'has a name or a password in it',
      'Give the key as { apiKey }, and the address without it.',
    );
  }
  if (base.search !== '' || base.hash !== '') {
    throw unusable('has a ? or a # in it', 'Give the address alone, such as https://glovebox.example');
  }
  if (base.protocol === 'http:' && !isLoopback(base.hostname) && !allowInsecure) {
    throw new SandboxError(
      'INPUT_INVALID',
      `The key would travel to ${base.host} in clear, for everybody on the way to read: http:// is refused there.`,
      {
        hint: 'Use https://, or a tunnel that ends on this machine; where the way is safe otherwise: { allowInsecure: true }.',
        details: { host: base.host },
      },
    );
  }
  if (typeof apiKey !== 'string' || !KEY.test(apiKey)) {
    throw new SandboxError('INPUT_INVALID', 'The apiKey is no key: 1 to 512 visible ASCII characters.', {
      hint: 'Make one with: glovebox keys create',
    });
  }
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return { base, apiKey };
}

/** What a header can hold: with anything else, the one who sends it would say what it is. */
const KEY = /^[\x21-\x7e]{1,512}$/;

function parsed(url: unknown): URL {
  try {
    return new URL(String(url));
  } catch {
    // What was given may hold a key: nobody repeats it.
    throw unusable('is none', 'Give the address of `glovebox serve`, such as http://127.0.0.1:8080');
  }
}

function unusable(why: string, hint: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `The address of the server ${why}.`, { hint });
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
