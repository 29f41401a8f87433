export {
  argument,
  type Command,
  type CommandArguments,
  type CommandEntry,
  type CommandOutput,
  type CommandParameters,
  createWholeNumberParser,
  DRY_RUN,
  flag,
  InvalidArgumentError,
  option,
} from './command.ts'
export { type CommandIo, type CommandLine, runCommandLine, TERMINAL_IO } from './command-line.ts'
export { formatCommandsPage } from './commands-page.ts'
export { getCurrentActor } from './current-actor.ts'
export { readLogFile } from './read-log-file.ts'
export { createFileErrorHandler, Refusal } from './refusal.ts'
