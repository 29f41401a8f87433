/** Formats a whole number with thousands separators, such as `1,240`. */
export const groupDigits = (count: number): string => String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
