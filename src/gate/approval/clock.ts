/** Milliseconds since 1970, as `Date.now` tells them. */
export type Clock = () => number;
