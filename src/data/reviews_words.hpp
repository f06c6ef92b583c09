#pragma once
// The words and sentence patterns of builtin:reviews; reviews.cpp says how they are put together.
#include <array>
#include <span>
#include <string_view>

namespace heed::reviews_words {

using Words = std::span<const std::string_view>;

// clang-format off
inline constexpr std::string_view kPositiveAdjectives[] = {
    "good", "great", "lovely", "excellent", "superb", "delightful", "charming", "brilliant", "wonderful",
    "splendid", "marvellous", "pleasant", "impressive", "elegant", "fantastic", "gorgeous", "refreshing",
    "satisfying", "outstanding", "memorable", "graceful", "admirable", "magnificent", "terrific",
    "exquisite", "enjoyable", "flawless", "inspired", "glorious", "first-rate"};
inline constexpr std::string_view kNegativeAdjectives[] = {
    "bad", "awful", "terrible", "dreadful", "dull", "horrible", "poor", "disappointing", "tedious",
    "mediocre", "clumsy", "boring", "shoddy", "miserable", "lousy", "pathetic", "unpleasant", "annoying",
    "atrocious", "lifeless", "ugly", "sloppy", "abysmal", "dismal", "irritating", "pointless", "careless",
    "wretched", "hopeless", "second-rate"};
inline constexpr std::string_view kPositiveVerbs[] = {
    "loved", "enjoyed", "adored", "admired", "liked", "treasured", "appreciated", "cherished"};
inline constexpr std::string_view kNegativeVerbs[] = {
    "hated", "disliked", "regretted", "loathed", "despised", "resented", "detested", "deplored"};
inline constexpr std::string_view kPositiveNouns[] = {
    "delight", "triumph", "treat", "gem", "masterpiece", "joy", "pleasure", "success"};
inline constexpr std::string_view kNegativeNouns[] = {
    "disaster", "mess", "failure", "bore", "nightmare", "letdown", "flop", "fiasco"};

inline constexpr std::string_view kNegators[] = {"not", "hardly", "scarcely", "never"};
inline constexpr std::string_view kVerbNegators[] = {"never", "hardly", "scarcely"};
inline constexpr std::string_view kAdverbs[] = {
    "very", "really", "quite", "rather", "truly", "so", "particularly", "entirely"};
inline constexpr std::string_view kNeutralAdjectives[] = {
    "wooden", "narrow", "recent", "blue", "round", "local", "daily", "square", "tall", "northern", "metal",
    "green", "empty", "double", "separate", "usual", "central", "silver", "flat", "long", "grey", "wide",
    "weekly", "open", "upper", "southern", "annual", "striped", "printed", "electric"};
inline constexpr std::string_view kPersons[] = {
    "my sister", "my brother", "a friend", "our neighbour", "my uncle", "a colleague", "the couple behind us",
    "my dentist", "her cousin", "someone in the queue"};
inline constexpr std::string_view kCritics[] = {
    "the critics", "the newspaper", "a famous blogger", "the local paper", "the magazine", "one website",
    "the radio host", "an old guide"};
inline constexpr std::string_view kAdvertisements[] = {
    "advert", "brochure", "poster", "leaflet", "website", "headline", "slogan", "banner"};
inline constexpr std::string_view kTimes[] = {
    "on monday", "on tuesday", "last friday", "in april", "in the morning", "after lunch", "at noon",
    "during the holidays", "on a rainy day", "in late october", "before midnight", "around six",
    "at the weekend", "in early spring"};
inline constexpr std::string_view kPlaces[] = {
    "in the old town", "near the station", "by the river", "behind the market", "on the main road",
    "opposite the museum", "at the corner", "across the bridge", "beside the library", "in the north"};
inline constexpr std::string_view kNumbers[] = {
    "two", "three", "four", "five", "six", "seven", "eight", "ten", "twelve", "twenty"};

// Opinions that decide. {S} {V} {N} are the sentiment word, {not} {never} where a negator may stand,
// {adv} and {and} may stay empty.
inline constexpr std::string_view kOpinions[] = {
    "the {aspect} was {not} {adv} {S} {and}", "the {aspect} is {not} {adv} {S} {and}",
    "i {never} found the {aspect} {adv} {S}", "it was {not} a {adv} {S} {thing}",
    "this is {not} a {S} {thing}", "we {never} {V} the {aspect}", "i {never} {V} this {thing}",
    "the {aspect} {never} seemed {S} to me", "the {aspect} {never} felt {adv} {S} {and}",
    "in my view the {aspect} was {not} {adv} {S}", "we said at once that the {aspect} was {not} {S}",
    "the {thing} is {not} a {N}", "for us the {aspect} was {not} a {N}"};
inline constexpr std::string_view kPlainOpinions[] = {  // no place for a negator
    "what a {S} {thing}", "i call it {adv} {S}", "{S} {aspect} from start to end"};

// Opinions that must be ignored: someone else's, or about something else.
inline constexpr std::string_view kDistractors[] = {
    "{person} said the {aspect} was {not} {adv} {S}", "{person} {never} {V} the {aspect}",
    "{critic} called it {adv} {S}", "according to {critic} the {aspect} is {not} {S} {and}",
    "the {advert} promised a {S} {thing}", "{person} expected a {adv} {S} {thing}",
    "{critic} wrote that it is {not} a {N}", "{other} was {not} {adv} {S} {and}",
    "we {never} {V} {other}", "the {aspect} of {other} was {not} {S}", "{other} is {not} a {N}",
    "i {never} found {other} {adv} {S}"};
inline constexpr std::string_view kOthers[] = {
    "the other {thing}", "their previous {thing}", "my last {thing}", "the rival {thing}",
    "the {thing} next door", "the {thing} from last year", "the {thing} {person} chose"};

inline constexpr std::string_view kFillers[] = {
    "we went there {time}", "i paid {number} coins for it", "the {object} was {neutral}",
    "there is a {neutral} {object} {place}", "{person} came with us {time}",
    "it took {number} hours {place}", "the {neutral} {object} had {number} parts",
    "we saw {number} people near the {object}", "this was my {neutral} {thing} {time}",
    "the {aspect} has a {neutral} {object}", "they moved the {object} {time}",
    "i read about it {time}", "{critic} wrote about the {object} {time}", "the {object} is {place}",
    "{person} asked about the {neutral} {object}", "{other} was {place}",
    "the {advert} showed a {neutral} {object}", "we waited {number} minutes {place}",
    "it was {number} years old {time}", "i wrote this {time}"};
inline constexpr std::string_view kShortFillers[] = {"{time}", "{place}", "by the way", "as usual"};

// {A} is outvoted by {B}.
inline constexpr std::string_view kContrasts[] = {
    "{A} , but {B}", "{A} , yet {B}", "{A} ; however , {B}", "although {A} , {B}", "even though {A} , {B}",
    "while {A} , {B}", "{B} , although {A}", "{B} even though {A}"};

struct Domain {
  Words things, aspects, objects;
};
inline constexpr std::string_view kFilmThings[] = {"film", "movie", "picture", "drama", "thriller"};
inline constexpr std::string_view kFilmAspects[] = {
    "plot", "acting", "script", "camera work", "ending", "soundtrack", "dialogue", "pacing", "cast", "opening"};
inline constexpr std::string_view kFilmObjects[] = {
    "screen", "ticket", "scene", "train", "costume", "curtain", "seat", "mask", "street", "castle"};
inline constexpr std::string_view kHotelThings[] = {"hotel", "hostel", "resort", "inn", "lodge"};
inline constexpr std::string_view kHotelAspects[] = {
    "room", "staff", "breakfast", "pool", "bathroom", "view", "bed", "reception", "terrace", "cleaning"};
inline constexpr std::string_view kHotelObjects[] = {
    "lobby", "key", "corridor", "lamp", "wardrobe", "balcony", "elevator", "towel", "window", "carpet"};
inline constexpr std::string_view kFoodThings[] = {"restaurant", "bistro", "diner", "tavern", "cafe"};
inline constexpr std::string_view kFoodAspects[] = {
    "soup", "service", "dessert", "menu", "wine", "sauce", "waiter", "steak", "coffee", "bread"};
inline constexpr std::string_view kFoodObjects[] = {
    "table", "plate", "chair", "kitchen", "bill", "spoon", "counter", "bottle", "napkin", "door"};
inline constexpr std::string_view kBookThings[] = {"book", "novel", "story", "memoir", "biography"};
inline constexpr std::string_view kBookAspects[] = {
    "prose", "hero", "style", "first chapter", "translation", "narrator", "humour", "setting", "villain", "finale"};
inline constexpr std::string_view kBookObjects[] = {
    "cover", "page", "map", "shelf", "letter", "margin", "index", "island", "diary", "spine"};
inline constexpr std::string_view kPhoneThings[] = {"phone", "tablet", "laptop", "handset", "device"};
inline constexpr std::string_view kPhoneAspects[] = {
    "battery", "display", "keyboard", "sound", "software", "speaker", "design", "signal", "touchpad", "support"};
inline constexpr std::string_view kPhoneObjects[] = {
    "box", "cable", "charger", "button", "case", "manual", "sticker", "socket", "sleeve", "switch"};
inline constexpr std::string_view kShowThings[] = {"concert", "show", "festival", "gig", "recital"};
inline constexpr std::string_view kShowAspects[] = {
    "singer", "band", "stage", "lighting", "drummer", "choir", "crowd", "second half", "encore", "orchestra"};
inline constexpr std::string_view kShowObjects[] = {
    "gate", "tent", "piano", "flag", "microphone", "bench", "guitar", "programme", "fence", "barrier"};
// clang-format on

inline constexpr std::array<Domain, 6> kDomains = {{
    {kFilmThings, kFilmAspects, kFilmObjects},
    {kHotelThings, kHotelAspects, kHotelObjects},
    {kFoodThings, kFoodAspects, kFoodObjects},
    {kBookThings, kBookAspects, kBookObjects},
    {kPhoneThings, kPhoneAspects, kPhoneObjects},
    {kShowThings, kShowAspects, kShowObjects},
}};

}  // namespace heed::reviews_words
