import { formatSettingsTable, type Setting } from '@plainpath/http/settings'
import { loadConfig } from '../config.ts'
import { SETTINGS } from '../settings.ts'
import { defineCommand } from './define-command.ts'

const SECRET_PLACEHOLDER = '(secret)'

export const configCommands = [
  defineCommand({
    name: 'config check',
    summary: 'validate the settings, as the server does at startup',
    settings: 'all',
    run({ env }) {
      loadConfig(env)
      const settings = Object.entries<Setting>(SETTINGS).flatMap(([name, setting]) => {
        const settingValue = env[name] || setting.default
        if (settingValue === undefined) return []
        const from = env[name] ? 'environment' : 'default'
        return [{ name, value: setting.secret ? SECRET_PLACEHOLDER : settingValue, from }]
      })
      const lines = settings.map(({ name, value, from }) => `${name}=${value}  (${from})`)
      return { json: { ok: true, settings }, text: lines.join('\n') }
    },
  }),
  defineCommand({
    name: 'config describe',
    summary: 'print the settings table of README.md',
    json: false,
    run: () => ({ text: formatSettingsTable(SETTINGS) }),
  }),
]
