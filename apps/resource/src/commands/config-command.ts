import { type Setting, settingsTable } from '@plainpath/http/settings'
import { loadConfig } from '../config.ts'
import { SETTINGS } from '../settings.ts'
import { defineCommand } from './define-command.ts'

const HIDDEN = '(secret)'

export const configCommands = [
  defineCommand({
    name: 'config check',
    summary: 'read every setting as the server would; say what is wrong, or what holds',
    settings: 'all',
    run({ env }) {
      loadConfig(env)
      const settings = Object.entries<Setting>(SETTINGS).flatMap(([name, setting]) => {
        const value = env[name] || setting.default
        if (value === undefined) return []
        const from = env[name] ? 'environment' : 'default'
        return [{ name, value: setting.secret ? HIDDEN : value, from }]
      })
      const lines = settings.map(({ name, value, from }) => `${name}=${value}  (${from})`)
      return { json: { ok: true, settings }, text: lines.join('\n') }
    },
  }),
  defineCommand({
    name: 'config describe',
    summary: 'print every setting, its default and what it is, as a Markdown table',
    json: false,
    run: () => ({ text: settingsTable(SETTINGS) }),
  }),
]
