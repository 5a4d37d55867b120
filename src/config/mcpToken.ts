import { type LoadOptions, environmentOf } from './load.ts';

/** What the callers of `glovebox mcp --http` have to know. */
export const MCP_TOKEN_VARIABLE = 'GLOVEBOX_MCP_TOKEN';

/** What the environment sets as that; an empty variable counts as unset. */
export function mcpToken(options: Pick<LoadOptions, 'env'> = {}): string | undefined {
  return environmentOf(options)[MCP_TOKEN_VARIABLE] || undefined;
}
