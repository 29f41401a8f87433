import type { z } from 'zod'

/**
 * Creates a parser of rows: the column `issued_at` becomes the member `issuedAt`, and a null column is left out.
 *
 * @returns `columns`, for a select list, and `parse`, which throws for a row that does not fit the type
 */
export function rowReader<Shape extends z.ZodRawShape>(type: z.ZodObject<Shape>) {
  const names = Object.keys(type.shape).map((member) => [member, snakeCased(member)] as const)
  return {
    columns: names.map(([, column]) => column).join(', '),
    parse(row: Readonly<Record<string, unknown>>): z.output<z.ZodObject<Shape>> {
      const present = names.filter(([, column]) => row[column] !== null)
      return type.parse(Object.fromEntries(present.map(([member, column]) => [member, row[column]])))
    },
  }
}

const snakeCased = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
