import type { z } from 'zod'

/**
 * Creates a parser of rows: the column `issued_at` becomes the member `issuedAt`, and a null column becomes an absent member.
 *
 * @returns `columns`, for a select list, and `parse`, which throws for a row that does not fit the type
 */
export function createRowReader<Shape extends z.ZodRawShape>(type: z.ZodObject<Shape>) {
  const memberColumns = Object.keys(type.shape).map((member) => [member, toSnakeCase(member)] as const)
  return {
    columns: memberColumns.map(([, column]) => column).join(', '),
    parse(row: Readonly<Record<string, unknown>>): z.output<z.ZodObject<Shape>> {
      const presentColumns = memberColumns.filter(([, column]) => row[column] !== null)
      return type.parse(Object.fromEntries(presentColumns.map(([member, column]) => [member, row[column]])))
    },
  }
}

const toSnakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
