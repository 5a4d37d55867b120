/** Forms in which texts are hidden, undone where that is plain. Null for what is no such form. */
import { gunzipSync, inflateSync } from 'node:zlib';

const MAX_OUTPUT_BYTES = 64 * 1024;

/** Bytes, one character each, as a text. */
export function fromUtf8(bytes: string): string | null {
  return /^[\0-\xff]*$/.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}

export function toUtf8(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

export function fromBase64(text: string): string | null {
  const plain = text.replace(/\s+/g, '');
  return /^[\w+/=-]*$/.test(plain) ? Buffer.from(plain, 'base64').toString('latin1') : null;
}

export function fromBase32(text: string): string | null {
  const digits = text.toUpperCase().replace(/[\s=]+/g, '');
  if (!/^[A-Z2-7]*$/.test(digits)) return null;
  let held = 0;
  let bits = 0;
  let bytes = '';
  for (const digit of digits) {
    held = ((held << 5) | 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(digit)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes += String.fromCharCode((held >> bits) & 0xff);
  }
  return bytes;
}

export function fromHex(text: string): string | null {
  const plain = text.replace(/[\s:]+/g, '');
  return /^([\da-fA-F]{2})*$/.test(plain) ? Buffer.from(plain, 'hex').toString('latin1') : null;
}

export function rot13(text: string): string {
  return text.replace(/[a-zA-Z]/g, (letter) => {
    const first = letter <= 'Z' ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first);
  });
}

export function reversed(text: string): string {
  return [...text].reverse().join('');
}

/** Of zlib or gzip. */
export function decompressed(bytes: string): string | null {
  const buffer = Buffer.from(bytes, 'latin1');
  const options = { maxOutputLength: MAX_OUTPUT_BYTES };
  try {
    return (bytes.startsWith('\x1f\x8b') ? gunzipSync : inflateSync)(buffer, options).toString('latin1');
  } catch {
    // No such format, or too large: what it holds stays unknown.
    return null;
  }
}

export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    // No valid escapes: the program itself would fail here.
    return null;
  }
}

/** Backslash escapes, as both languages have them. */
export function unescaped(text: string): string {
  return text.replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|([0-7]{1,3}))/g, (_whole, x, u, octal) =>
    String.fromCharCode(
      octal === undefined ? Number.parseInt(x ?? u, 16) : Number.parseInt(octal, 8) & 0xffff,
    ),
  );
}

/** Whether a literal is written with escapes for what any keyboard has. */
export function isDisguised(literal: string): boolean {
  return /\\(?:x[2-7][\da-fA-F]|u00[2-7][\da-fA-F]|u\{0*[2-7][\da-fA-F]\}|1[0-7][0-7]|0?[4-7][0-7])/.test(
    literal,
  );
}
