/** Whether something is a picture that a page can show without harm. Pure. */

export type PictureForm = 'png' | 'jpeg';

export type Picture =
  | { readonly ok: true; readonly url: string; readonly width: number; readonly height: number }
  /** Why not, as a sentence. */
  | { readonly ok: false; readonly because: string };

const MAX_BYTES = 8 * 1024 * 1024;

/** A few bytes can hold a picture that takes gigabytes to draw. */
const MAX_PIXELS = 50_000_000;

const PNG_START = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');

/** Looks at the bytes themselves: what they were said to be is no reason to believe it. */
export function pictureOf(form: PictureForm, base64: string): Picture {
  if (base64.length > (MAX_BYTES * 4) / 3)
    return refused(`It has more than ${MAX_BYTES / 1024 ** 2} MB, which are the most that are shown.`);
  const bytes = Buffer.from(base64, 'base64');
  const size = form === 'png' ? sizeOfPng(bytes) : sizeOfJpeg(bytes);
  if (size === undefined) return refused(`It was said to be a ${form.toUpperCase()} picture, and is none.`);
  const { width, height } = size;
  if (width === 0 || height === 0 || width * height > MAX_PIXELS)
    return refused(`It has ${width} × ${height} pixels, which are not shown.`);
  return { ok: true, url: `data:image/${form};base64,${bytes.toString('base64')}`, width, height };
}

interface Size {
  readonly width: number;
  readonly height: number;
}

function sizeOfPng(bytes: Buffer): Size | undefined {
  if (bytes.length < 24 || !bytes.subarray(0, PNG_START.length).equals(PNG_START)) return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** From the header of the first frame, which stands behind segments of known lengths. */
function sizeOfJpeg(bytes: Buffer): Size | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 9 <= bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt16BE(at);
    if (marker <= 0xff00) return undefined;
    if (isFrameHeader(marker))
      return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
  }
  return undefined;
}

function isFrameHeader(marker: number): boolean {
  // Tables and extensions have numbers among those of frames.
  return marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
}

function refused(because: string): Picture {
  return { ok: false, because };
}
