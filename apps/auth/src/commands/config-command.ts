import { settingRows, settingsTable } from '@plainpath/http/settings'
import { loadConfig, SETTINGS } from '../config.ts'
import { defineCommand } from './define-command.ts'

export const configCommands = [
  defineCommand({
    name: 'config check',
    summary: 'validate every setting as the server would',
    settings: 'all',
    run({ env }) {
      loadConfig(env)
      const set = settingRows(SETTINGS).flatMap(({ name }) => (env[name] === undefined ? [] : name))
      return { json: { ok: true, set }, text: `The configuration is valid. Set: ${set.join(', ')}` }
    },
  }),
  defineCommand({
    name: 'config list',
    summary: 'list every setting, as the table in README.md',
    run: () => ({ json: settingRows(SETTINGS), text: settingsTable(SETTINGS) }),
  }),
]
