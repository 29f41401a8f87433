import { type Setting, settingsTable } from '@plainpath/http/settings'
import { Command } from 'commander'
import { type Environment, loadConfig } from '../config.ts'
import { SETTINGS } from '../settings.ts'
import type { CommandIo } from './command-io.ts'

const HIDDEN = '(secret)'

export function configCommand(env: Environment, io: CommandIo): Command {
  const config = new Command('config').description('look at the settings')
  config
    .command('check')
    .description('read every setting as the server would; say what is wrong, or what holds')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) => {
      loadConfig(env)
      const settings = effectiveSettings(env)
      const lines = settings.map(({ name, value, from }) => `${name}=${value}  (${from})`)
      io.print(options.json ? JSON.stringify({ ok: true, settings }) : lines.join('\n'))
    })
  config
    .command('describe')
    .description('print every setting, its default and what it is, as a Markdown table')
    .action(() => io.print(settingsTable(SETTINGS)))
  return config
}

function effectiveSettings(env: Environment) {
  return Object.entries<Setting>(SETTINGS).flatMap(([name, setting]) => {
    const value = env[name] || setting.default
    if (value === undefined) return []
    const from = env[name] ? 'environment' : 'default'
    return [{ name, value: setting.secret ? HIDDEN : value, from }]
  })
}
