import { createHash } from 'node:crypto';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

/** A file that pages load. Its name changes with its content, so that browsers may keep it. */
export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly content: string;
  /** As in the header of this name, with its quotation marks. */
  readonly etag: string;
}

/** All files that pages load. */
export const ASSETS = {
  script: asset('console', 'js', 'text/javascript; charset=utf-8', SCRIPT),
  style: asset('console', 'css', 'text/css; charset=utf-8', STYLE),
} as const;

function asset(name: string, ending: string, type: string, content: string): Asset {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  return { path: `/assets/${name}.${hash}.${ending}`, type, content, etag: `"${hash}"` };
}
