// Loaded before the command (--require): says at its end which packages it has loaded.
const { writeFileSync } = require('node:fs');

process.on('exit', () => {
  const names = Object.keys(require.cache).flatMap(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  );
  writeFileSync(`${process.env.TELL_FOLDER}/${process.pid}.json`, JSON.stringify([...new Set(names)].sort()));
});
