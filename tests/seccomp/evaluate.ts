/** The kernel's side of a seccomp filter, written from `linux/filter.h` alone: checks a program and runs it. */

export interface Call {
  /** As in `linux/audit.h`. */
  readonly architecture: number;
  readonly number: number;
  readonly arguments?: readonly bigint[];
}

interface Instruction {
  readonly code: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly operand: number;
}

/** `struct seccomp_data`: number, architecture, instruction pointer and six arguments. */
const DATA_BYTES = 64;
const CODES = {
  loadWord: 0x20,
  and: 0x54,
  jump: 0x05,
  jumpIfEqual: 0x15,
  jumpIfGreater: 0x25,
  jumpIfAtLeast: 0x35,
  jumpIfAnyOf: 0x45,
  give: 0x06,
};
const CONDITIONAL: readonly number[] = [
  CODES.jumpIfEqual,
  CODES.jumpIfGreater,
  CODES.jumpIfAtLeast,
  CODES.jumpIfAnyOf,
];

/** What the kernel would object to when the program is loaded; an empty list for a sound one. */
export function objections(program: Uint8Array): string[] {
  if (program.length % 8 !== 0) return ['not a whole number of instructions'];
  const instructions = decode(program);
  return [
    ...(instructions.length < 1 || instructions.length > 4096 ? [`${instructions.length} instructions`] : []),
    ...(instructions.at(-1)?.code === CODES.give ? [] : ['does not end with a return']),
    ...instructions.flatMap(({ code, ifTrue, ifFalse, operand }, index) => {
      const left = instructions.length - index - 1;
      if (!Object.values(CODES).includes(code)) return [`${index}: unknown code ${code}`];
      const distance = code === CODES.jump ? operand : Math.max(ifTrue, ifFalse);
      if ((CONDITIONAL.includes(code) || code === CODES.jump) && distance >= left)
        return [`${index}: jumps out of the program`];
      if (!CONDITIONAL.includes(code) && (ifTrue > 0 || ifFalse > 0)) return [`${index}: not a jump`];
      if (code === CODES.loadWord && (operand % 4 !== 0 || operand >= DATA_BYTES))
        return [`${index}: loads ${operand}`];
      return [];
    }),
  ];
}

/** What the program says to this call: 'allow', 'kill' or the number of an error. */
export function evaluate(program: Uint8Array, call: Call): 'allow' | 'kill' | number {
  const instructions = decode(program);
  const data = seccompData(call);
  let register = 0;
  for (let index = 0; ; index++) {
    const instruction = instructions[index];
    if (instruction === undefined) throw new Error('The program runs past its end.');
    const { code, ifTrue, ifFalse, operand } = instruction;
    if (code === CODES.loadWord) register = data.getUint32(operand, true);
    else if (code === CODES.and) register = (register & operand) >>> 0;
    else if (code === CODES.jump) index += operand;
    else if (code === CODES.jumpIfEqual) index += register === operand ? ifTrue : ifFalse;
    else if (code === CODES.jumpIfGreater) index += register > operand ? ifTrue : ifFalse;
    else if (code === CODES.jumpIfAtLeast) index += register >= operand ? ifTrue : ifFalse;
    else if (code === CODES.jumpIfAnyOf) index += (register & operand) !== 0 ? ifTrue : ifFalse;
    else if (code === CODES.give) return verdict(operand);
    else throw new Error(`Unknown code ${code}.`);
  }
}

function decode(program: Uint8Array): Instruction[] {
  const view = new DataView(program.buffer, program.byteOffset, program.length);
  return Array.from({ length: program.length / 8 }, (_, index) => ({
    code: view.getUint16(index * 8, true),
    ifTrue: view.getUint8(index * 8 + 2),
    ifFalse: view.getUint8(index * 8 + 3),
    operand: view.getUint32(index * 8 + 4, true),
  }));
}

function seccompData(call: Call): DataView {
  const data = new DataView(new ArrayBuffer(DATA_BYTES));
  data.setInt32(0, call.number, true);
  data.setUint32(4, call.architecture, true);
  call.arguments?.forEach((value, index) => {
    data.setBigUint64(16 + index * 8, BigInt.asUintN(64, value), true);
  });
  return data;
}

function verdict(action: number): 'allow' | 'kill' | number {
  if (action === 0x7fff0000) return 'allow';
  // The whole process, or the thread that called.
  if (action === 0x80000000 || action === 0) return 'kill';
  if (action >>> 16 === 0x0005) return action & 0xffff;
  throw new Error(`Unknown action ${action}.`);
}
