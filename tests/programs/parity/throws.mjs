function inner() {
  throw new TypeError('on purpose: ü €');
}
console.log('before');
inner();
