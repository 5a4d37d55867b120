/** One step of a program for the kernel's classic BPF machine, which has one register that matters here. */
export type Step =
  /** Loads the 32-bit word at this offset of the data. */
  | { readonly load: number }
  /** Keeps the bits of the register that this mask has. */
  | { readonly mask: number }
  /** Compares the register, as an unsigned number, and goes to a label; without one, to the next step. */
  | {
      readonly is: 'equal' | 'atLeast';
      readonly value: number;
      readonly ifTrue?: string;
      readonly ifFalse?: string;
    }
  | { readonly return: number }
  /** Names the step that follows. */
  | { readonly label: string };

type Instruction = Exclude<Step, { readonly label: string }>;

/** The kernel takes no longer program (BPF_MAXINSNS). */
const MAX_INSTRUCTIONS = 4096;
/** A conditional jump has eight bits for its distance, and no way back. */
const MAX_JUMP = 255;
/** `struct sock_filter`: code, distance if true, distance if false, operand. */
const INSTRUCTION_BYTES = 8;

const OPCODES = { load: 0x20, mask: 0x54, equal: 0x15, atLeast: 0x35, return: 0x06 } as const;

/**
 * Assembles an array of `struct sock_filter`, little-endian. Throws where a program would be refused by the
 * kernel or would do something other than what it says.
 */
export function assemble(steps: readonly Step[]): Uint8Array {
  const { instructions, labels } = resolveLabels(steps);
  const last = instructions.at(-1);
  if (last === undefined || !('return' in last)) throw new RangeError('A program must end with a return.');
  if (instructions.length > MAX_INSTRUCTIONS) {
    throw new RangeError(`${instructions.length} instructions are more than ${MAX_INSTRUCTIONS}.`);
  }

  const bytes = new Uint8Array(instructions.length * INSTRUCTION_BYTES);
  const view = new DataView(bytes.buffer);
  instructions.forEach((instruction, index) => {
    const {
      code,
      ifTrue = 0,
      ifFalse = 0,
      operand,
    } = encode(instruction, (label) => distance(labels, label, index));
    const offset = index * INSTRUCTION_BYTES;
    view.setUint16(offset, code, true);
    view.setUint8(offset + 2, ifTrue);
    view.setUint8(offset + 3, ifFalse);
    view.setUint32(offset + 4, operand, true);
  });
  return bytes;
}

function resolveLabels(steps: readonly Step[]): { instructions: Instruction[]; labels: Map<string, number> } {
  const instructions: Instruction[] = [];
  const labels = new Map<string, number>();
  for (const step of steps) {
    if (!('label' in step)) instructions.push(step);
    else if (labels.has(step.label)) throw new RangeError(`The label "${step.label}" stands twice.`);
    else labels.set(step.label, instructions.length);
  }
  return { instructions, labels };
}

function encode(
  instruction: Instruction,
  jump: (label: string | undefined) => number,
): { code: number; ifTrue?: number; ifFalse?: number; operand: number } {
  if ('load' in instruction) return { code: OPCODES.load, operand: instruction.load };
  if ('mask' in instruction) return { code: OPCODES.mask, operand: instruction.mask };
  if ('return' in instruction) return { code: OPCODES.return, operand: instruction.return };
  const { is, value, ifTrue, ifFalse } = instruction;
  return { code: OPCODES[is], ifTrue: jump(ifTrue), ifFalse: jump(ifFalse), operand: value };
}

/** How many instructions to leave out, counted from the one after `index`. */
function distance(labels: ReadonlyMap<string, number>, label: string | undefined, index: number): number {
  if (label === undefined) return 0;
  const target = labels.get(label);
  if (target === undefined) throw new RangeError(`There is no label "${label}".`);
  const skipped = target - index - 1;
  if (skipped < 0) throw new RangeError(`The label "${label}" lies behind the jump to it.`);
  if (skipped > MAX_JUMP) throw new RangeError(`The label "${label}" is ${skipped} instructions away.`);
  return skipped;
}
