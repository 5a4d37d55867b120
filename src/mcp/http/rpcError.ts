/** A refusal before any message was read, in the form that clients of the protocol expect. */
export function rpcError(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const error = { code: status === 404 ? -32001 : -32000, message };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status, headers });
}
