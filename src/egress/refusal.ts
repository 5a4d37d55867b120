/** Everything that can stand in the way of a connection, as `403 Domain not allowed by Glovebox` tells it. */
const REFUSALS = {
  not_listed: { status: 403, phrase: 'Domain not allowed by Glovebox' },
  address: { status: 403, phrase: 'Address instead of a domain not allowed by Glovebox' },
  port: { status: 403, phrase: 'Port not allowed by Glovebox' },
  private_address: { status: 403, phrase: 'Private address not allowed by Glovebox' },
  upgrade: { status: 403, phrase: 'Upgrade not allowed by Glovebox' },
  malformed: { status: 400, phrase: 'Malformed request refused by Glovebox' },
  busy: { status: 503, phrase: 'Too many connections through Glovebox' },
  // These are met in a tunnel that is open already; nobody is told their status.
  sni_mismatch: { status: 403, phrase: 'TLS server name not allowed by Glovebox' },
  hidden_name: { status: 403, phrase: 'Encrypted TLS server name not allowed by Glovebox' },
  no_server_name: { status: 403, phrase: 'TLS without a server name not allowed by Glovebox' },
  not_tls: { status: 403, phrase: 'Only TLS allowed here by Glovebox' },
  unrecorded: { status: 503, phrase: 'Not recorded by Glovebox' },
  failed: { status: 500, phrase: 'Glovebox failed' },
  // The rules let these pass, and the world did not.
  unresolved: { status: 502, phrase: 'Domain not found', allowed: true },
  unreachable: { status: 502, phrase: 'Host not reachable', allowed: true },
  timeout: { status: 504, phrase: 'Host did not answer in time', allowed: true },
  bad_answer: { status: 502, phrase: 'Host answered with something other than HTTP', allowed: true },
  abandoned: { status: 502, phrase: 'Nobody waits for it any more', allowed: true },
} as const satisfies Record<string, { status: number; phrase: string; allowed?: true }>;

/** The short word for why a connection did not come about. */
export type RefusalCode = keyof typeof REFUSALS;

/** Why a connection does not come about; the message is a sentence that a model understands, in plain ASCII. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  /** The address that was the reason. */
  readonly address: string | undefined;

  constructor(code: RefusalCode, sentence: string, address?: string) {
    super(sentence);
    this.name = 'Refusal';
    this.code = code;
    this.address = address;
  }

  get status(): number {
    return REFUSALS[this.code].status;
  }

  get phrase(): string {
    return REFUSALS[this.code].phrase;
  }

  /** The rules did not forbid it. */
  get allowed(): boolean {
    return 'allowed' in REFUSALS[this.code];
  }
}

const LONGEST_QUOTE = 100;

/** Text of a sandbox as a sentence, a header and a log may show it: quoted, ASCII, and not long. */
export function quoted(text: string): string {
  const short = text.length <= LONGEST_QUOTE ? text : `${text.slice(0, LONGEST_QUOTE)}...`;
  const plain = short.replace(/[^\x20-\x7e]|["\\]/g, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${plain}"`;
}
