export {
  argument,
  type Command,
  type CommandArguments,
  type CommandEntry,
  type CommandOutput,
  type CommandParameters,
  DRY_RUN,
  flag,
  InvalidArgumentError,
  option,
  wholeNumber,
} from './command.ts'
export { type CommandIo, type CommandLine, runCommandLine, TERMINAL } from './command-line.ts'
export { formatCommandsPage } from './commands-page.ts'
export { getCurrentActor } from './current-actor.ts'
export { formatCount } from './format-count.ts'
export { Refusal, refuseFileError } from './refusal.ts'
