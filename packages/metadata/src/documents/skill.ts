/** One agent skill (agentskills.io). */
export interface Skill {
  /** Also the name of its folder. */
  readonly name: string
  readonly title: string
  /** What it does and when to use it; at most 1024 characters. */
  readonly description: string
  readonly version: string
  /** What people say when it is the right one. */
  readonly queries: readonly string[]
  /** Markdown, without the front matter. */
  readonly body: string
}
