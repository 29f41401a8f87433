import type { z } from 'zod'

/**
 * Reads rows as a type of ours: the column `issued_at` is the member `issuedAt`, and null is no member.
 *
 * @returns `columns`, for a select list, and `parse`, which throws for a row that is not of the type
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
