import { z } from 'zod'
import { SETTINGS } from './settings.ts'

export interface SettingRow {
  readonly name: string
  readonly description: string
  /** As it would be written; undefined for a setting that is empty unless it is set, and for a required one. */
  readonly default?: string
  readonly required: boolean
}

/** Every setting, in the order in which they are declared. */
export const settingRows = (): SettingRow[] =>
  Object.entries(SETTINGS).map(([name, schema]) => {
    const written = schema instanceof z.ZodPrefault ? schema.def.defaultValue : ''
    return {
      name,
      description: schema.meta()?.description ?? '',
      ...(written && { default: written }),
      required: !(schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional),
    }
  })

/** The table of README.md. */
export const settingsTable = (): string =>
  [
    '| Setting | Default | What it is |',
    '| --- | --- | --- |',
    ...settingRows().map(
      (row) =>
        `| \`${row.name}\` | ${row.required ? '**required**' : row.default ? `\`${row.default}\`` : ''} | ${row.description} |`,
    ),
  ].join('\n')
