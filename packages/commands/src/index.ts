export {
  type Arguments,
  argument,
  type Command,
  type CommandOutput,
  DRY_RUN,
  type Entry,
  flag,
  InvalidArgumentError,
  option,
  type Parameters,
  wholeNumber,
} from './command.ts'
export { type CommandIo, type CommandLine, runCommandLine, TERMINAL } from './command-line.ts'
export { commandsPage } from './commands-page.ts'
export { Refusal, refuseFileError } from './refusal.ts'
export { thisActor } from './this-actor.ts'
