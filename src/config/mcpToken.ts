import { MCP_TOKEN_VARIABLE } from './environment.ts';
import { environmentOf, type LoadOptions } from './load.ts';

/** The token that the environment sets for `glovebox mcp --http`; an empty variable counts as unset. */
export function mcpToken(options: Pick<LoadOptions, 'env'> = {}): string | undefined {
  return environmentOf(options)[MCP_TOKEN_VARIABLE] || undefined;
}
