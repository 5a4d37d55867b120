import type { Language } from './language.ts';

export const shell: Language = {
  name: 'shell',
  aliases: ['sh', 'bash'],
  extensions: ['.sh', '.bash'],
  fileName: 'main.sh',
  command: (interpreter, file, args) => [interpreter, file, ...args],
  host: {
    candidates: ['bash'],
    variable: 'SANDBOX_BASH',
    install: 'Install bash (apt-get install bash), or name one with SANDBOX_BASH.',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are bash's
    describe: ['-p', '-c', 'printf "%s\\0%s" "$BASH" "${BASH_VERSION%%(*}"'],
  },
};
