function down(depth) {
  return down(depth + 1) + 1;
}
try {
  down(0);
} catch (error) {
  console.log(error.name, error.message);
  process.exitCode = 3;
}
