import { ASSETS } from '../assets/assets.ts';
import type { Site } from '../site.ts';

/** What pages load; browsers may keep it, since its name changes with it. */
export function assetRoutes({ open }: Site): void {
  for (const { path, type, content, etag } of Object.values(ASSETS)) {
    open(path, async (context) => {
      const headers = { etag, 'cache-control': 'public, max-age=31536000, immutable' };
      if (context.req.header('if-none-match') === etag) return context.body(null, 304, headers);
      return context.body(content, 200, { ...headers, 'content-type': type });
    });
  }
}
