export interface Looking {
  /** Milliseconds from one look to the next. */
  readonly everyMs: number;
  readonly onChange: () => void;
}

/**
 * Looks again and again for what nobody tells of, as long as anybody watches, and once for all of them: a look may cost much.
 * Whoever watches calls the result, and what that gives back to stop. What cannot be looked at tells of no change.
 */
export function whileWatched(
  look: () => Promise<readonly string[]>,
  { everyMs, onChange }: Looking,
): () => () => void {
  let watching = 0;
  let known: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  const lookAgain = async (): Promise<void> => {
    const now = (await look()).join();
    if (known !== undefined && now !== known) onChange();
    known = now;
  };
  const quietly = (): void => void lookAgain().catch(() => {});
  return () => {
    if (watching++ === 0) {
      known = undefined;
      timer = setInterval(quietly, everyMs);
      quietly();
    }
    return () => {
      if (--watching === 0) clearInterval(timer);
    };
  };
}
