import { settingRows, settingsTable } from '@plainpath/http/settings'
import type { Command } from 'commander'
import { type Config, ConfigError, type Environment } from './config.ts'
import { SETTINGS } from './settings.ts'

export interface ConfigCommandDeps {
  io: { print(line: string): void }
  env: Environment
  /** @throws {ConfigError} */
  load(): Config
}

/** `auth config check | list`. */
export function addConfigCommand(program: Command, { io, env, load }: ConfigCommandDeps): void {
  const command = program.command('config').description('look at the settings')
  command
    .command('check')
    .description('read every setting as the server would, and say what is wrong')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) => {
      try {
        load()
      } catch (error) {
        if (options.json && error instanceof ConfigError)
          io.print(JSON.stringify({ ok: false, mistakes: error.mistakes }))
        throw error
      }
      const set = settingRows(SETTINGS).flatMap(({ name }) => (env[name] === undefined ? [] : name))
      io.print(
        options.json
          ? JSON.stringify({ ok: true, set })
          : `The configuration is valid. Set: ${set.join(', ')}`,
      )
    })
  command
    .command('list')
    .description('every setting, as the table of README.md')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) =>
      io.print(options.json ? JSON.stringify(settingRows(SETTINGS)) : settingsTable(SETTINGS)),
    )
}
