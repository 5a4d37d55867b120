/** What a command's output is, for code that starts it and reads it. */
import { elementsOf, type Origin, textsOf, type Value } from '../reading/values.ts';
import { fetches } from './commands.ts';
import { plainName } from './invocations.ts';

/** `fetched` where the command fetches, `read` otherwise: what programs of this machine say is like a file. */
export function originOfOutput(command: Value | undefined): Origin {
  const words =
    command?.items === undefined ? command?.texts[0] : textsOf(elementsOf(command)[0] ?? command)[0];
  const [first = ''] = (words ?? '')
    .trim()
    .replace(/^(sudo|env|timeout \S+)\s+/, '')
    .split(/\s+/, 1);
  return fetches(plainName(first)) ? 'fetched' : 'read';
}
