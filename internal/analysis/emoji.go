package analysis

import "strings"

// The emoji that say something, by weight. What merely decorates is not among them.
const (
	lovely  = "❤♥💕💖💗💘💝💞💟💙💚💛🧡💜🤎🖤🤍😍🥰😘🤩🏆🥇💯🎉🎊🙌👏😻🔥💐🫶"
	glad    = "👍🙂😊😀😃😄😁😆☺😇😎🤗👌✅✔💪😋😌🥳✨🌟⭐🌞☀🙏🤝😉😺💎🌸🌹🎈😹😅👑💫🤤"
	sad     = "🙁☹😞😔😟😕😣😖😫😩😢😥😓😰😨😧😦😬🙄😒😑👎❌⛔🚫😿💔🥺😵🤕🤒😪😮😳🐌💸"
	furious = "😠😡🤬😤👿💩🤮🤢😭😱🖕🗑🤦😾☠💀🚮🤡"
)

var emojiWeights = func() map[rune]int {
	all := map[rune]int{}
	for i, chars := range []string{lovely, glad, sad, furious} {
		for _, c := range chars {
			all[c] = []int{300, 200, -200, -300}[i]
		}
	}
	for _, c := range "👍😉😅😮😳🙏😬" {
		all[c] /= 2 // as often said out of politeness or embarrassment
	}
	return all
}()

// emojiWeight is what an emoji weighs that stands n times in a row.
func emojiWeight(c rune, n int) int {
	w := emojiWeights[c]
	if strings.ContainsRune("⭐🌟", c) {
		// Stars in a row are a rating.
		switch n {
		case 1:
			return 100
		case 2:
			return -200
		case 3:
			return 0
		default:
			return 400
		}
	}
	return w * (9 + min(n, 4)) / 10
}
