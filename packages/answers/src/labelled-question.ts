import { readFileSync } from 'node:fs'

/**
 * A question with the labels that an evaluation accepts. A label is `handoff:<trigger>`, `answer:<guide>`, `answer` without a
 * named guide, or `out_of_scope`.
 */
export interface LabelledQuestion {
  readonly id: string
  readonly question: string
  /** The expected label. It decides the group in which an evaluation counts the question. */
  readonly expected: string
  /** The other labels that are accepted. */
  readonly alsoOk: readonly string[]
  /** The sections that answer the question: `guide#anchor`, or `guide` for its introduction. Empty if the row lists none. */
  readonly sections: readonly string[]
  /** `held-out` questions are only for evaluation. `readTrainingQuestions` leaves them out. */
  readonly split: 'train' | 'held-out'
}

/**
 * A line of an example file. It has either `expected`, which is a label, or `outcome`: `hand_off` with `triggers`, `information`
 * with `guide` or `sections`, or `out_of_scope`. A line with neither is out of scope. Labels spell hand-offs `handoff`.
 */
interface ExampleRow {
  readonly id: string
  readonly question: string
  readonly expected?: string
  readonly outcome?: 'information' | 'hand_off' | 'out_of_scope'
  readonly triggers?: readonly string[]
  readonly sections?: readonly string[]
  readonly guide?: string | null
  readonly also_ok?: readonly string[]
  readonly split?: 'train' | 'held-out'
}

/**
 * Reads labelled questions from a file with one JSON object per line. The members of the objects are not validated.
 *
 * @throws {SyntaxError} for a line that is not JSON
 * @throws {Error} that names the question whose row has no label
 */
export function readLabelledQuestions(file: string | URL): readonly LabelledQuestion[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => parseRow(JSON.parse(line) as ExampleRow))
}

/**
 * Lists the names in the accepted labels of one kind: ids of triggers for `handoff`, slugs of guides for `answer`. A label
 * `answer` without a guide has no name.
 */
export function listAcceptedNames(
  { expected, alsoOk }: LabelledQuestion,
  kind: 'answer' | 'handoff',
): readonly string[] {
  return [expected, ...alsoOk]
    .filter((label) => label.startsWith(`${kind}:`))
    .map((label) => label.slice(kind.length + 1))
}

/**
 * Converts a row. If it has no `expected`, the first trigger of a hand-off or the first guide becomes the expected label, and the
 * others become accepted ones.
 */
function parseRow({ id, question, split = 'train', ...row }: ExampleRow): LabelledQuestion {
  // The section id of an introduction is the guide's slug alone.
  const sections = (row.sections ?? []).map((section) => section.replace(/#intro$/, ''))
  const otherLabels = (row.also_ok ?? []).map(normalizeLabel)
  if (row.expected !== undefined)
    return { id, question, expected: row.expected, alsoOk: otherLabels, sections, split }
  const triggers = (row.triggers ?? []).map((trigger) => `handoff:${trigger}`)
  // First the row's guide, if it has one, then the guides of its sections.
  const guides = [
    ...new Set([row.guide ?? [], sections.map((section) => section.split('#')[0] ?? '')].flat()),
  ]
  const labels = {
    hand_off: triggers,
    information: guides.map((guide) => `answer:${guide}`),
    out_of_scope: ['out_of_scope'],
  }[row.outcome ?? 'out_of_scope']
  const [expected] = labels
  if (expected === undefined)
    throw new Error(`${id}: hand_off needs a trigger, and information a guide or a section`)
  return { id, question, expected, alsoOk: [...labels.slice(1), ...otherLabels], sections, split }
}

/** The labels for the outcomes that `also_ok` may contain without a name. */
const LABELS_WITHOUT_NAME: Readonly<Record<string, string>> = {
  information: 'answer',
  out_of_scope: 'out_of_scope',
}

/** Converts an element of `also_ok` to a label: for example `hand_off:asylum-fear`, `asylum-fear` or `information`. */
function normalizeLabel(label: string): string {
  if (/^(?:answer|handoff):/.test(label)) return label
  return LABELS_WITHOUT_NAME[label] ?? `handoff:${label.replace('hand_off:', '')}`
}
