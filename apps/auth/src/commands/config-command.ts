import { formatSettingsTable, listSettingRows } from '@plainpath/http/settings'
import { loadConfig, SETTINGS } from '../config.ts'
import { defineCommand } from './define-command.ts'

export const configCommands = [
  defineCommand({
    name: 'config check',
    summary: 'validate the settings, as the server does at startup',
    settings: 'all',
    run({ env }) {
      loadConfig(env)
      const configuredNames = listSettingRows(SETTINGS)
        .map(({ name }) => name)
        .filter((name) => env[name])
      return {
        json: { ok: true, set: configuredNames },
        text: `The configuration is valid. Set: ${configuredNames.join(', ')}`,
      }
    },
  }),
  defineCommand({
    name: 'config list',
    summary: 'print the settings table of README.md',
    run: () => ({ json: listSettingRows(SETTINGS), text: formatSettingsTable(SETTINGS) }),
  }),
]
