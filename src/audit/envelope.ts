/**
 * Signed statements as DSSE envelopes (https://github.com/secure-systems-lab/dsse, version 1.0.2): the bytes of a
 * statement, their kind, and an Ed25519 signature over both, which other tools can check as well.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { SandboxError } from '../errors.ts';

export interface Envelope {
  readonly payloadType: string;
  /** Base64. */
  readonly payload: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

/** Reads an Ed25519 private key in PEM (PKCS #8). Throws `INPUT_INVALID` for anything else. */
export function privateKeyFrom(pem: string | Buffer): KeyObject {
  return ed25519(() => createPrivateKey(pem), 'a private');
}

/** Reads an Ed25519 public key in PEM (SPKI). Throws `INPUT_INVALID` for anything else, a private key as well. */
export function publicKeyFrom(pem: string | Buffer): KeyObject {
  if (pem.toString().includes('PRIVATE KEY')) throw noKey('a public');
  return ed25519(() => createPublicKey(pem), 'a public');
}

/** SHA-256 of the public key as DER (SPKI). */
export function keyId(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

export function seal(payloadType: string, statement: unknown, key: KeyObject): Envelope {
  const payload = Buffer.from(JSON.stringify(statement));
  const sig = sign(null, preAuthenticationEncoding(payloadType, payload), key).toString('base64');
  return { payloadType, payload: payload.toString('base64'), signatures: [{ keyid: keyId(key), sig }] };
}

/** What the envelope holds. Throws `INPUT_INVALID` when it is none of this kind, or not signed by this key. */
export function unseal(envelope: unknown, payloadType: string, key: KeyObject): unknown {
  if (!isEnvelope(envelope)) throw unusable('is no signed statement', 'Give the file as it was made.');
  if (envelope.payloadType !== payloadType) {
    throw unusable(`is ${JSON.stringify(envelope.payloadType.slice(0, 100))}`, `Expected ${payloadType}.`);
  }
  const payload = Buffer.from(envelope.payload, 'base64');
  const signed = preAuthenticationEncoding(payloadType, payload);
  const isSigned = envelope.signatures.some(({ sig }) =>
    verify(null, signed, key, Buffer.from(sig, 'base64')),
  );
  if (!isSigned) {
    throw unusable('is not signed by this key, or was changed', `The key's id is ${keyId(key)}.`);
  }
  return JSON.parse(payload.toString('utf8'));
}

function preAuthenticationEncoding(type: string, payload: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null) return false;
  const { payloadType, payload, signatures } = value as Partial<Envelope>;
  return (
    typeof payloadType === 'string' &&
    typeof payload === 'string' &&
    Array.isArray(signatures) &&
    signatures.every((one: unknown) => typeof (one as { sig?: unknown } | null)?.sig === 'string')
  );
}

function ed25519(read: () => KeyObject, which: string): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch (error) {
    throw noKey(which, error);
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw noKey(which);
}

function noKey(which: string, cause?: unknown): SandboxError {
  return new SandboxError('INPUT_INVALID', `The file holds not ${which} Ed25519 key.`, {
    hint: 'Make a pair with: glovebox audit keygen FILE',
    ...(cause === undefined ? {} : { cause }),
  });
}

function unusable(what: string, hint: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `The statement ${what}.`, { hint });
}
