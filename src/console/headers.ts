/** What browsers are told to keep from doing with what the console sends. */

const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Nothing in it runs, is sent, leads anywhere or is loaded, wherever it is shown; only pages of ours may frame it. */
const FRAME_POLICY = [
  'sandbox',
  "default-src 'none'",
  'img-src data:',
  "style-src 'unsafe-inline'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join('; ');

const COMMON = {
  'x-content-type-options': 'nosniff',
  // Not `no-referrer`: browsers then send forms with `Origin: null`, which could be anybody's.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'accelerometer=(), camera=(), clipboard-read=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), payment=(), publickey-credentials-get=(), usb=()',
  'x-dns-prefetch-control': 'off',
  'x-robots-tag': 'noindex',
} as const;

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'content-security-policy': PAGE_POLICY,
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
};

/** For what comes from inside a sandbox. */
export const FRAME_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'content-security-policy': FRAME_POLICY,
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};
